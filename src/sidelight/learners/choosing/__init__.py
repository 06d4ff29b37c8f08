"""Which learner: trials on labelled sequences held out, the guard of learners from more than labels, and Auto."""
