"""Numbers of M.-W. Chang 2011 on citations: token accuracy in percent, by the number of labelled references."""

SIZES = (5, 10, 20, 300)
# A result counts as reproduced when it is at most this many points below.
SLACK = 1.0

TABLE_3_3 = {
    "HMM": (58.48, 63.37, 70.78, 86.69),
    "HMM and rules (CCM)": (71.64, 75.44, 81.15, 93.92),
    "HMM, semi-supervised (hard EM)": (64.55, 69.86, 75.35, 87.89),
    "HMM and rules, semi-supervised (CoDL)": (77.65, 81.51, 85.11, 94.32),
}
# In brackets there: error reduction over the same without rules.
REDUCTION_3_3 = {
    "HMM and rules (CCM)": (31.69, 32.94, 35.49, 54.29),
    "HMM and rules, semi-supervised (CoDL)": (36.96, 38.67, 39.61, 53.07),
}
# β of Table 3.3: the thesis has two, and says each of all its experiments.
BALANCES_3_3 = {0.1: "section 3.4.1", 0.9: "sections 3.4.3 and 3.4.7"}
TABLE_3_4 = {
    "HMM": (58.48, 63.37, 70.78, 86.69),
    "HMM and Punctuation (CCM)": (63.68, 66.88, 77.52, 93.35),
    "CRF": (51.43, 54.61, 63.92, 89.09),
    "SemiCRF": (50.69, 50.38, 62.96, 92.46),
    "SemiCRF+": (60.14, 62.51, 72.22, 94.60),
}
# Bellare et al. 2009, as cited there.
TABLE_3_5 = {"AP-T": {5: 75.6, 20: 85.4, 300: 94.0}, "AP-I": {5: 74.6, 20: 85.1, 300: 94.3}}
TABLE_3_6 = {"soft rules": (77.65, 81.51, 85.11, 94.32), "hard rules": (78.18, 81.11, 85.16, 92.80)}
# Rule -> supervised, semi-supervised; 5 labelled references, hard rules.
TABLE_3_7 = {
    "None": (58.48, 64.55),
    "Start": (58.52, 64.52),
    "AppearsOnce": (58.69, 65.92),
    "Punctuation": (63.68, 71.23),
    "BookJournal": (58.96, 64.68),
    "Date": (61.50, 66.76),
    "Editors": (58.70, 64.77),
    "Journal": (58.66, 64.73),
    "Note": (58.55, 64.61),
    "Pages": (58.77, 64.68),
    "TechReport": (58.73, 64.43),
    "Title": (59.66, 65.54),
    "Location": (58.81, 64.97),
    "ALL": (71.64, 77.65),
}
