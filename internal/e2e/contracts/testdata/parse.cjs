// Reads an AsyncAPI document as its official parser does, and fails with what that finds, advice on versions aside.
const { Parser, fromFile } = require("@asyncapi/parser");

fromFile(new Parser(), process.argv[2])
  .parse()
  .then(({ document, diagnostics }) => {
    const found = diagnostics.filter((d) => d.code !== "asyncapi-latest-version");
    for (const d of found) console.error(d.code, d.path.join("."), d.message);
    process.exit(document && found.length === 0 ? 0 : 1);
  });
