"""All structures within a Bayes factor of the best: counted, listed, averaged.

Source: Liao, Sharma, Cussens & van Beek (2019), with corrected rules; see each module.
"""
