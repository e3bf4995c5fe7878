-- A-Seq (2014), section 6.2: trades of three companies in turn. The types are tickers: pass type="company".
-- The paper's windows are of 0.1 to 1 second, for a stream of more trades per second.
RETURN COUNT(*)
PATTERN SEQ(DELL, IPIX, AMAT)
WITHIN 1 minute
