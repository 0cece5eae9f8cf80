-- expect: error[E0503] 7:28 plugins.toml
-- expect: error[E0503] 8:35 unknown language COBOL
-- expect: error[E0503] 9:26 LANGUAGE WASM is missing
-- expect: error[E0101] 10:39 expected USING 'path.wasm'
-- expect: error[E0101] 11:18 expected AS 'name' or WITH a.b.Class
-- expect: error[E0101] 12:29 expected a class name
CREATE FUNCTION a AS 'x.Y' USING JAR '/x.jar';
CREATE FUNCTION b AS 'm' LANGUAGE COBOL;
CREATE FUNCTION c AS 'm' USING 'p.wasm';
CREATE FUNCTION d AS 'm' LANGUAGE WASM;
CREATE FUNCTION e;
CREATE SCALA FUNCTION f WITH;
