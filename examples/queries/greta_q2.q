-- GRETA (2017), section 1: the CPU cycles of mappers whose load increases.
Q2: RETURN mapper, SUM(M.cpu)
PATTERN SEQ(Start S, Measurement M+, End E)
WHERE [job, mapper] AND M.load < NEXT(M).load
GROUP-BY mapper
WITHIN 1 minute SLIDE 30 seconds
