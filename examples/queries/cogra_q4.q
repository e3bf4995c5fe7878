-- COGRA (2019), appendix A: heart rates from too slow to too fast in passive activities. The paper says A.type for A.kind.
q4: RETURN patient, COUNT(*)
PATTERN SEQ(Activity S, Activity A+, Activity F)
SEMANTICS contiguous
WHERE [patient] AND S.rate < 60 AND F.rate > 100 AND A.kind = passive
GROUP-BY patient
WITHIN 10 minutes SLIDE 30 seconds
