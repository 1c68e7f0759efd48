"""Strong-motion records: PEER, SMC, COSMOS, USC, ESM, K-NET."""
