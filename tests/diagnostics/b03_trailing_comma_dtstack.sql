-- expect: warning[W0103] 3:21 the comma before ) is ignored
-- expect: warning[W0103] 3:45 the comma before ) is ignored
CREATE TABLE o(a int,) WITH (type ='console',);
