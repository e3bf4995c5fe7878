-- COGRA (2019), section 1: mappers whose CPU load increases without interruption. The paper says Load for Measurement.
q1: RETURN mapper, SUM(L.cpu)
PATTERN SEQ(Start S, Measurement L+, End E)
SEMANTICS contiguous
WHERE [job, mapper] AND L.cpu < NEXT(L).cpu
GROUP-BY job, mapper
WITHIN 1 minute SLIDE 30 seconds
