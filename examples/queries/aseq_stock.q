-- A-Seq (2014), section 6.2: trades of three companies in turn. There the companies are the types of events.
-- The paper's windows are of 0.1 to 1 second, for a stream of more trades per second.
RETURN COUNT(*)
PATTERN SEQ(Stock D, Stock I, Stock A)
WHERE D.company = 'DELL' AND I.company = 'IPIX' AND A.company = 'AMAT'
WITHIN 1 minute
