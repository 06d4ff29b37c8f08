"""The grammar behind the generated references: a symbol has alternatives, ``{symbol}`` stands for one.

Everything here is generic or invented. ``COMMON`` holds names, places, venues and title patterns; each entry
of ``TOPICS`` adds the words of one subject: areas, adjectives (kind), nouns (item, things), methods and verbs
(act). A capitalised ``{Symbol}`` is the same symbol printed in title case.
"""

Grammar = dict[str, list[str]]


def _words(text: str) -> list[str]:
    return text.split()


def _phrases(text: str) -> list[str]:
    return [" ".join(phrase.split()) for phrase in text.split(";")]


def _topic(area: str, kind: str, item: str, things: str, method: str, act: str) -> Grammar:
    return {
        "area": _phrases(area),
        "kind": _words(kind),
        "item": _words(item),
        "things": _words(things),
        "method": _phrases(method),
        "act": _words(act),
    }


_NAMES: Grammar = {
    "surname": ["{known_surname}", "{stem}{ending}", "{stem}{ending}", "{stem}{ending}"],
    "known_surname": _words("""
        Adams Ahmed Alvarez Andersen Archer Baker Banerjee Barnes Becker Bell Bennett Berger Bianchi Bishop
        Blanc Bloom Bose Brandt Brown Bruno Burke Carlson Carter Castro Chan Chandra Chen Cohen Cole Conti
        Cooper Costa Cruz Dalton Das Davies Delgado Desai Diaz Dubois Duarte Edwards Ellis Endo Evans Farah
        Ferrari Fischer Fontaine Foster Fox Franco Frost Fujita Garcia Gibson Gomez Grant Gray Green Gupta
        Haas Hall Hansen Harris Hart Hayashi Herrera Hill Hoang Holm Horvat Huang Hughes Ibrahim Ito Ivanov
        Jackson Jain James Jansen Jensen Johnson Jones Kato Kaur Keller Khan Kim King Klein Kovacs Kumar
        Lambert Lang Larsen Lee Lewis Li Lin Lopez Lund Ma MacDonald Marino Martin Mehta Meyer Miller Mills
        Moore Mori Moreau Morris Nakamura Nair Nguyen Nielsen Novak Olsen Ortiz Owen Page Park Patel Perez
        Petrov Phillips Popescu Powell Price Qureshi Rao Reed Reyes Ricci Rivera Roberts Rossi Roy Russo Saito
        Santos Sato Schmidt Schulz Scott Sen Shah Sharma Silva Simon Singh Smith Sokolov Stein Suzuki Svensson
        Tan Taylor Torres Tran Turner Vargas Vega Vogel Wagner Walker Wang Ward Weber White Williams Wolf Wong
        Wood Wright Wu Yamada Yang Young Zhang Zhao Zimmer O'Hara D'Amico
    """),
    "stem": _words("""
        Al Ash Bal Bar Ben Ber Bor Brad Cal Car Cor Dal Dar Del Dor El Ems Fal Fen Fer Gar Gil Gor Gris Hal
        Ham Hol Hor Is Jar Jor Kal Kar Kel Kor Lan Lev Lin Lor Mal Mar Mel Mor Nar Nor Ol Or Pal Per Pol Ral
        Ren Ros San Sel Sor Stan Tal Tar Tor Ul Val Ver Vol Wal Wes Wil Yar Zal Zan Zel
    """),
    "ending": _words("""
        adi aki ano anov ard aro arsky bach beck berg bert bourne brook by dale don dorf edo elli enko er eron
        escu etti ev field ford gard gate ham hurst ic ides ikawa iner ini insky itz kamp ley lund man mann
        mer mont moto nik ow oda ova ovich quist rath sen shaw son stad stein ston strom ton uchi ura vall
        ville vik wald well wick wood worth
    """),
    "given": _words("""
        Aaron Adele Agnes Ahmed Akira Alan Alice Amir Ana Andrea Anita Anton Arthur Barbara Beatrice Bernard
        Boris Bruce Carla Carlos Cecilia Charles Chiara Claire Clara Colin Dana Daniel David Deborah Diana
        Dieter Dmitri Donald Edith Edward Elena Elias Emma Eric Esther Eva Felix Fiona Frank Gabriel George
        Gloria Grace Gustav Hana Harold Hector Helen Henry Hiro Hugo Ian Igor Ines Ingrid Irene Isaac Ivan
        Jack Jacob James Jane Javier Jean Jin John Jorge Juan Julia Karen Karl Keiko Kenneth Kevin Kiran Laura
        Leo Lewis Lidia Liu Lucas Lucy Luis Magnus Manuel Marco Maria Mark Martha Matthew Mei Michael Mina
        Miriam Nadia Neil Nina Noah Olga Oliver Omar Oscar Pablo Patricia Paul Pedro Peter Philip Priya Rachel
        Rafael Ralph Ravi Rebecca Richard Rita Robert Rosa Ruth Samuel Sara Sergei Simon Sofia Stefan Susan
        Sven Takeshi Teresa Thomas Tomas Ursula Vera Victor Walter Wei Wendy William Xin Yasmin Yuki Zoe
    """),
    "letter": _words("A A B C C D D E F G H J J J K L L M M M N P P R R S S T V W Y"),
}

_LOCATIONS = _phrases("""
    Aarhus, Denmark; Adelaide, Australia; Albany, NY; Ankara, Turkey; Antwerp, Belgium; Athens, Greece;
    Auckland, New Zealand; Austin, TX; Austin, Texas; Baltimore, MD; Barcelona, Spain; Bergen, Norway;
    Bologna, Italy; Bombay, India; Boston, MA; Boston, Massachusetts; Boulder, CO; Brighton, UK;
    Brisbane, Australia; Budapest, Hungary; Buffalo, NY; Cambridge, MA; Cambridge, England;
    Cambridge, Massachusetts; Cape Town, South Africa; Chicago, IL; Chicago, Illinois; Cologne, Germany;
    Cork, Ireland; Dallas, TX; Delft, The Netherlands; Denver, CO; Dublin, Ireland; Durham, NC;
    Edinburgh, Scotland; Geneva, Switzerland; Ghent, Belgium; Glasgow, UK; Graz, Austria; Haifa, Israel;
    Halifax, Canada; Hamburg, Germany; Helsinki, Finland; Kyoto, Japan; Leeds, UK; Leiden, Netherlands;
    Lima, Peru; Lisbon, Portugal; London, UK; London, England; Los Angeles, CA; Lyon, France; Madison, WI;
    Madrid, Spain; Malaga, Spain; Melbourne, Australia; Miami, FL; Milan, Italy; Montreal, Canada;
    Montreal, Quebec; Munich, Germany; Nagoya, Japan; New York, NY; New York, USA; Osaka, Japan;
    Oslo, Norway; Oxford, UK; Padua, Italy; Palo Alto, California; Paris, France; Phoenix, AZ;
    Pisa, Italy; Portland, OR; Porto, Portugal; Prague, Czechoslovakia; Princeton, NJ; Rome, Italy;
    Salt Lake City, UT; San Diego, CA; San Diego, California; Santa Fe, NM; Santiago, Chile; Seattle, WA;
    Seattle, U.S.A.; Seoul, Korea; Sofia, Bulgaria; Stockholm, Sweden; Stuttgart, Germany; Taipei, Taiwan;
    Tampa, Florida; Tokyo, Japan; Toronto, Ontario; Toronto, Canada; Turin, Italy; Utrecht, Netherlands;
    Valencia, Spain; Vancouver, Canada; Vancouver, BC; Vienna, Austria; Warsaw, Poland; Zagreb, Croatia;
    Zurich, Switzerland
""")

_PLACES: Grammar = {
    "city": [place.partition(",")[0] for place in _LOCATIONS],
    "location": ["{place}", "{place}", "{place}", "{city}"],
    "place": _LOCATIONS,
    "people": _words("""
        American Australian British Canadian Dutch European French German Indian Italian Japanese Nordic
        Pacific Royal
    """),
    "publisher": _phrases("""
        {imprint} Press; {imprint} Press; {city} University Press; {imprint}-Verlag; {surname} and Sons;
        {surname} & {surname}; {imprint} Publishers; {imprint} Publishing Co.; {imprint} Books; {imprint};
        {imprint} Academic Publishers; {surname}-{surname}; {imprint}, Inc.
    """),
    "imprint": _words("""
        Alder Anchor Arcadia Beacon Birch Bridgewater Cardinal Cedar Compass Cormorant Crescent Elmtree Falcon
        Galleon Granite Harbour Heron Ivory Juniper Keystone Lantern Laurel Meridian Northgate Orchard Osprey
        Parallel Pelham Quill Riverside Sextant Southwark Summit Tamarind Thistle Trident Umbra Westbrook
        Whitehall Zenith
    """),
    "institution": _phrases("""
        University of {city}; University of {city}; {department}, University of {city};
        {department}, University of {city}; {department}, {surname} University; {surname} University;
        {city} Institute of Technology; {department}, {city} Institute of Technology;
        {surname} Research Laboratory; {imprint} Research Center; {imprint} Systems, Inc.;
        Institute for {Area}, {city}; Technical University of {city}; {people} National Laboratory;
        Center for {Area}, {surname} University
    """),
    "department": _phrases("""
        Department of {Area}; Dept. of {Area}; School of {Area}; Department of {faculty};
        Department of {faculty}; Faculty of {faculty}; Division of {Area}; Laboratory for {Area}
    """),
    "faculty": _phrases("""
        Computer Science; Computer Science; Mathematics; Physics; Biology; Engineering;
        Electrical Engineering; Statistics; Information Science; Psychology
    """),
}

_VENUES: Grammar = {
    "journal": _phrases("""
        Journal of {Area}; Journal of {Area}; {society} Transactions on {Area};
        International Journal of {Area}; {Area}; {Area} Letters; Annals of {Area}; {people} Journal of {Area};
        {Area} Review; {society} Computer; Communications of the {society};
        Bulletin of the {people} Society for {Area}; {society} Notices; Journal of the {society};
        {Area} and its Applications; Advances in {Area}; Transactions of the {people} {Area} Society;
        Journal of {Kind} {Things}; {Kind} {Things}; Acta {latin}; {people} Scientist; Studies in {Area}
    """),
    "latin": _words("Informatica Mathematica Physica Botanica Geologica Linguistica Numerica Oecologica"),
    "society": _words("ACS AISE BSC CSA EACS IACM ICS IFCE ISCA IIES JSIP NSCE SEAM SIMA USCA WSES"),
    "meeting": _phrases("""
        {ordinal} International Conference on {Area}; {ordinal} International Conference on {Area};
        {ordinal} {society} Symposium on {Area}; {ordinal} Annual {society} Conference on {Area};
        {year} {society} Workshop on {Kind} {Things}; {people} Conference on {Area};
        {society} Conference on {Area}; International Symposium on {Area} and {Things};
        {ordinal} Annual Meeting of the {people} Society for {Area}; {ordinal} {people} Workshop on {Area};
        {society} '{yy}; {society}-{yy} Workshop on {Things} in {Area}; Workshop on {Kind} {Things};
        {year} International Conference on {Area}; {ordinal} {society} Conference;
        {society} Conference on {Kind} {Things}; International Joint Conference on {Area}
    """),
    "ordinal": _words("""
        First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh Twelfth Thirteenth Fifteenth
        Twentieth 1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th 13th 14th 15th 16th 17th 18th 19th 20th
        21st 22nd 23rd 24th
    """),
    "collection": _phrases("""
        Advances in {Area}; Handbook of {Area}; Readings in {Area}; {Area}: {Quality} Perspectives;
        Topics in {Area}; {Kind} {Things}: {Abstract} and {Abstract}; {Things} in {Area}; Progress in {Area};
        Essays on {Area}; Lecture Notes in {Area}; {Area} and its Applications; On {Kind} {Things};
        The {Abstract} of {Area}
    """),
    "report": _phrases("""
        Technical Report {code}; Technical Report {code}; Technical Report {code}; Technical Report;
        Tech. Rep. {code}; Technical Report No. {number}; Research Report {code}; Report {code};
        Technical Memo {number}; Working Paper {number}; Tech. Report {code}; Memorandum {code}
    """),
    "code": _words("{prefix}-{yy}-{number} {prefix}-{number} {prefix}-TR-{number} {yy}-{number} {number}"),
    "prefix": _words("CS CIS TR DCS RR CSD MS LCS SE RC UCS CTR EE AM"),
    "thesis": _phrases("""
        PhD thesis; PhD thesis; Ph.D. thesis; Ph.D. thesis; Ph.D. dissertation; Doctoral dissertation;
        Master's thesis; M.Sc. thesis; Diploma thesis
    """),
    "note": _phrases("""
        to appear; To appear; To appear; in press; submitted for publication; Submitted;
        Submitted to {journal}; To appear in {journal}; forthcoming; in preparation; Unpublished manuscript;
        Personal communication; invited paper; Special issue on {Area}; second edition; third edition;
        (in {tongue}); Also available as {report}; accepted; Reprinted by {publisher};
        Available from the author; Extended abstract; manuscript; Draft
    """),
    "tongue": _words("French German Italian Japanese Portuguese Russian Spanish"),
    "month": _words("""
        January February March April May June July August September October November December Jan. Feb. Mar.
        Apr. Jun. Jul. Aug. Sept. Oct. Nov. Dec. Spring Summer Fall
    """),
}

_TITLES: Grammar = {
    "title": _phrases("""
        {heading}; {heading}; {heading}; {heading} {tail}; {heading}: {subtitle}
    """),
    "tail": _phrases("""
        and its application to {area}; with applications to {area}; in the presence of {kind} {things};
        for {area}; using {method} and {method}; in {area}; by means of {method}; through {method};
        with {kind} {item} {things}; and {things}; : part {roman}; in {kind} environments;
        over {kind} {things}; under {quality} assumptions; as a {device} for {area}
    """),
    "subtitle": _phrases("""
        a {study}; {abstract} and {abstract}; a {quality} {device}; {abstract}, {abstract}, and {abstract};
        the case of {kind} {things}; a {study} of {item} {things}; lessons from {area}; the role of {method};
        {quality} results; a {device} based on {method}; an update
    """),
    "roman": _words("I II III IV"),
    "heading": _phrases("""
        {method} for {kind} {things}; {quality} {method} for {item} {things};
        on the {abstract} of {kind} {things}; {act} {kind} {things}; {act} {item} {things} with {method};
        {act} {things} from {kind} {things}; a {quality} {device} for {act} {item} {things};
        a {device} for {kind} {things}; {things} and {things} in {area}; the {abstract} of {item} {things};
        {method}: a {quality} {device} for {kind} {things}; towards {quality} {things};
        {area}: {abstract} and {abstract}; {kind} {item} {things}; {kind} {things} for {item} {things};
        the {codename} {device}; the {codename} {device}: {act} {item} {things};
        {codename}: a {quality} {device} for {item} {things}; {quality} {method};
        {abstract} of {method} in {area}; {method} and the {abstract} of {kind} {things};
        {act} the {abstract} of {item} {things} under {kind} {things}; a {study} of {kind} {things};
        {item} {things} without {kind} {things}; a {study} of {method} for {area};
        why {things} need {kind} {things}; {kind} {things}: a {study};
        some {quality} results on {item} {things}; from {things} to {things} by {method};
        a {quality} approach to {act} {kind} {item} {things}; when do {kind} {things} help {area}?
    """),
    "monograph": _phrases("""
        {area}; {area}; an introduction to {area}; introduction to {area}; {area}: a {quality} approach;
        foundations of {area}; {kind} {things}; principles of {area}; the {abstract} of {things};
        {method} in {area}; {things}, {things} and {things}; elements of {area};
        {area}: {abstract} and {abstract}; the art of {act} {things}; {quality} {method}
    """),
    "quality": _words("""
        accurate adaptive approximate automatic careful classical coherent compact comparative complete
        constructive contemporary critical direct effective efficient elegant empirical exact experimental
        fast flexible formal general generalized improved incremental integrated intuitive lightweight minimal
        modern modular new novel optimal practical precise preliminary principled rapid reliable revised
        rigorous robust scalable sharp simple simplified sound special stable systematic tight tractable
        unified universal useful versatile
    """),
    "device": _words("""
        algorithm approach apparatus benchmark calculus construction environment formalism framework heuristic
        instrument language library method methodology model procedure process program project protocol scheme
        strategy system technique theory tool toolkit
    """),
    "abstract": _words("""
        analysis applications assessment behavior calibration characterization choice classification
        comparison complexity construction control convergence cost decay design detection discovery dynamics
        effects efficiency emergence equivalence estimation evaluation evolution existence foundations
        geometry growth identification implementation interaction interpretation limits maintenance management
        measurement modelling nature optimization organization origins performance power practice prediction
        properties quality reduction reliability representation role sensitivity simulation stability
        structure synthesis techniques theory uniqueness use validation visualization
    """),
    "study": _phrases("""
        case study; comparative study; survey; review; comparison; critique; tutorial; retrospective;
        reappraisal; second look; field study; progress report; bibliography; taxonomy
    """),
    "codename": _words("""
        ABACUS ARGUS ATLAS BASALT CADENZA CALYPSO CONDOR DELPHI DRIFTER EMBER FALCON FERRET GAZELLE HYDRA IBIS
        JASMINE KESTREL LYNX MAGPIE MOSAIC NIMBUS ORCHID PALETTE PRISM QUARTZ RAVEN SAFFRON TAMPER TRELLIS
        VESPER WOMBAT ZEPHYR
    """),
}

SMALL_WORDS = frozenset(_words("a an and as by for from in its of on over the to under using with without"))
"""The words that title case leaves alone."""

ABBREVIATIONS = {
    "Proceedings": "Proc.",
    "International": "Int.",
    "Conference": "Conf.",
    "Symposium": "Symp.",
    "Workshop": "Wksh.",
    "Annual": "Ann.",
    "Transactions": "Trans.",
    "Journal": "J.",
    "Letters": "Lett.",
    "Review": "Rev.",
    "Bulletin": "Bull.",
    "Communications": "Comm.",
    "Society": "Soc.",
    "Department": "Dept.",
    "University": "Univ.",
    "Institute": "Inst.",
    "Laboratory": "Lab.",
    "Technical": "Tech.",
    "Report": "Rep.",
    "Systems": "Syst.",
    "Computer": "Comput.",
    "Applied": "Appl.",
    "Mathematics": "Math.",
    "Science": "Sci.",
    "Engineering": "Eng.",
}
"""How the common words of venues and institutions are shortened."""

COMMON: Grammar = {**_NAMES, **_PLACES, **_VENUES, **_TITLES}

TOPICS: list[Grammar] = [
    _topic(
        "machine learning; artificial intelligence; pattern recognition; neural computation",
        "Bayesian noisy supervised unlabeled inductive probabilistic recurrent sparse hidden weighted "
        "symbolic sequential",
        "decision training feature concept rule kernel belief reward instance cluster gradient hypothesis",
        "classifiers examples networks trees agents learners policies concepts perceptrons beliefs rules "
        "mixtures attributes",
        "reinforcement learning; boosting; nearest neighbors; gradient descent; back-propagation; "
        "active learning; bagging; inductive logic programming; temporal differences; case-based reasoning",
        "learning pruning combining classifying inducing training explaining generalizing discovering",
    ),
    _topic(
        "database systems; information retrieval; data engineering; information systems; digital libraries; "
        "data management",
        "relational deductive heterogeneous concurrent transactional semistructured persistent temporal "
        "replicated nested",
        "query index schema view transaction record join hash page document object tuple storage catalog",
        "queries databases joins transactions views schemas indexes relations documents warehouses keys",
        "query optimization; two-phase locking; hashing; caching; signature files; inverted indexing; "
        "data mining; semantic integrity checking; materialization",
        "querying indexing integrating caching mining updating storing sorting searching replicating",
    ),
    _topic(
        "computer architecture; parallel computing; operating systems; supercomputing; "
        "high performance systems; VLSI design",
        "shared distributed superscalar pipelined multithreaded parallel massively-parallel speculative "
        "coherent asynchronous",
        "cache memory register branch thread processor disk bus instruction checkpoint message kernel",
        "processors multiprocessors caches workloads threads registers circuits machines clusters kernels",
        "prefetching; dynamic scheduling; load balancing; virtual memory; message passing; "
        "software pipelining; checkpointing; trace-driven simulation; register renaming",
        "scheduling prefetching profiling synchronizing partitioning simulating allocating paging tracing",
    ),
    _topic(
        "theory of computing; discrete mathematics; combinatorics; computational geometry; graph theory; "
        "algorithms; logic",
        "planar randomized polynomial NP-hard convex bipartite online deterministic combinatorial Boolean "
        "recursive regular",
        "graph matching path tree string polygon circuit lattice sorting flow coloring hull automaton clique",
        "graphs polygons circuits permutations polytopes matroids automata trees hypergraphs games words "
        "sets intervals",
        "linear programming; dynamic programming; random sampling; network flow; branch and bound; "
        "interactive proofs; divide and conquer; derandomization",
        "approximating coloring counting enumerating packing covering embedding ranking routing",
    ),
    _topic(
        "programming languages; software engineering; compiler construction; formal methods; "
        "functional programming; logic programming; reactive systems",
        "typed lazy polymorphic object-oriented imperative higher-order declarative modal static verified "
        "reusable interprocedural",
        "type program module loop pointer specification source compiler proof component requirement array",
        "programs types compilers specifications interpreters components closures exceptions objects proofs "
        "macros loops",
        "abstract interpretation; partial evaluation; type inference; model checking; program slicing; "
        "refinement; testing; garbage collection; constraint solving",
        "compiling verifying debugging specifying parsing testing vectorizing refactoring optimizing",
    ),
    _topic(
        "computer networks; communications; telecommunications; distributed computing; mobile computing; "
        "network security",
        "wireless mobile multicast optical secure broadband reliable bursty fault-tolerant peer-to-peer "
        "adaptive cellular",
        "packet traffic routing congestion bandwidth link channel queue session video gateway key switch",
        "networks protocols switches channels packets routers hosts sessions queues gateways signatures",
        "flow control; admission control; leader election; fair queueing; public-key encryption; "
        "error correction; flooding; time-division multiplexing; traffic shaping",
        "routing broadcasting authenticating multiplexing encrypting forwarding measuring shaping monitoring",
    ),
    _topic(
        "computer vision; image processing; computer graphics; robotics; human-computer interaction",
        "visual stereo three-dimensional textured articulated curved autonomous interactive deformable "
        "illuminated noisy",
        "image surface motion edge camera texture robot shape range gesture contour scene sensor",
        "images surfaces contours scenes robots manipulators edges textures faces landmarks displays",
        "edge detection; ray tracing; optical flow; texture mapping; camera calibration; "
        "histogram equalization; radiosity; path planning; active contours",
        "rendering tracking segmenting recognizing grasping recovering animating navigating matching",
    ),
    _topic(
        "numerical analysis; scientific computing; applied mathematics; computational mechanics; "
        "optimization; mathematics",
        "nonlinear elliptic hyperbolic implicit sparse stochastic singular ill-posed symmetric finite "
        "ordinary differential",
        "matrix boundary eigenvalue mesh spline residual operator equation preconditioner step error wavelet",
        "equations matrices problems operators eigenvalues splines grids systems inequalities solvers "
        "residuals wavelets",
        "conjugate gradients; finite elements; multigrid; domain decomposition; interior point methods; "
        "Monte Carlo integration; Runge-Kutta integration; collocation",
        "solving preconditioning discretizing factoring integrating interpolating bounding iterating "
        "smoothing minimizing",
    ),
    _topic(
        "molecular biology; genetics; ecology; evolutionary biology; biochemistry; neuroscience; physiology",
        "bacterial genetic cortical molecular aquatic mammalian tropical metabolic synaptic parasitic viral",
        "protein gene membrane enzyme cell neuron population forest species tissue larval chromosome pollen",
        "proteins genes populations neurons enzymes receptors sequences mutations predators genomes",
        "sequence alignment; gene expression; natural selection; electron microscopy; "
        "phylogenetic inference; staining; radioactive labelling; crossbreeding",
        "sequencing folding aligning culturing breeding feeding sampling foraging mutating isolating",
    ),
    _topic(
        "physics; materials science; chemistry; fluid dynamics; astronomy; geophysics; applied physics",
        "thermal magnetic turbulent crystalline quantum superconducting ionic viscous galactic seismic "
        "elastic metallic",
        "plasma laser crystal vortex spin phonon polymer film neutron dust wave alloy sediment",
        "crystals plasmas alloys flows waves stars particles polymers films faults isotopes galaxies",
        "perturbation theory; neutron scattering; spectroscopy; renormalization; molecular dynamics; "
        "mean field theory; X-ray diffraction; inversion",
        "cooling scattering observing heating dating annealing exciting measuring stretching imaging",
    ),
    _topic(
        "computational linguistics; natural language processing; cognitive science; psychology; linguistics; "
        "education; speech",
        "lexical syntactic semantic spoken bilingual phonetic discourse verbal cognitive ambiguous anaphoric",
        "word grammar speech sentence dialogue memory verb noun reading attention corpus student phrase",
        "words grammars sentences utterances children speakers dictionaries parsers dialogues readers "
        "pronouns students idioms",
        "unification; part-of-speech tagging; chart parsing; priming; machine translation; "
        "protocol analysis; smoothing; speech recognition; text generation",
        "parsing translating understanding reading remembering summarizing tagging teaching generating",
    ),
    _topic(
        "economics; operations research; statistics; management science; econometrics; finance; game theory; "
        "public policy",
        "rational competitive strategic robust multivariate asymptotic longitudinal social fiscal risky "
        "cooperative censored",
        "market price regression inventory auction tax labor voting survey risk trade variance investment",
        "markets auctions prices estimators firms coalitions surveys households contracts incentives samples "
        "portfolios wages",
        "regression; time series analysis; maximum likelihood; simulated annealing; the bootstrap; "
        "queueing theory; bargaining; cost-benefit analysis; mechanism design",
        "pricing bidding forecasting regulating estimating voting taxing trading allocating negotiating",
    ),
]
