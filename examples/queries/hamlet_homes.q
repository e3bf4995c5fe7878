-- After HAMLET (2021), section 5.1, which has queries over smart plugs but prints none: power that goes up.
RETURN house, COUNT(*), AVG(L.measurement)
PATTERN SEQ(Work W, Load L+)
WHERE [house, plug] AND L.measurement < NEXT(L).measurement
GROUP-BY house
WITHIN 5 minutes SLIDE 1 minute
