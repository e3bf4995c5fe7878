// The page is built into the Python package; `digest` there says of which sources, and a test compares.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const out = "../src/sparkleene/serve/static";
const sources = ["index.html", "package.json", "package-lock.json", "vite.config.js", "src", "public"];

function files(path) {
  try {
    return readdirSync(path, { withFileTypes: true })
      .flatMap((one) => files(join(path, one.name)));
  } catch {
    return [path];
  }
}

function digest() {
  const hash = createHash("sha256");
  const names = sources.flatMap(files).map((path) => relative(".", path).replaceAll("\\", "/"));
  for (const name of names.sort()) hash.update(`${name}\0`).update(readFileSync(name)).update("\0");
  return hash.digest("hex");
}

export default {
  base: "/",
  build: {
    outDir: out,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    target: "es2022",
    reportCompressedSize: true,
  },
  plugins: [{ name: "digest", closeBundle: () => writeFileSync(join(out, "digest"), `${digest()}\n`) }],
};
