-- A-Seq (2014), section 1, application I: the addresses to block, from which wrong passwords come too often. The paper's words
-- are "immediately" and "rise abnormally": here contiguous, and twice or more in the window.
RETURN IP, COUNT(*)
PATTERN SEQ(TypeUsername, TypePassword, ClickSubmit)
SEMANTICS contiguous
WHERE TypePassword.value != TypeUsername.Password
GROUP-BY IP
WITHIN 10 seconds
HAVING COUNT(*) >= 2
