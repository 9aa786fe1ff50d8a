// Makes a start from source cheap. Compiled code is cached on disk, libraries come from few files instead of 1,300, and
// imports of our own modules skip Node's search. It is JavaScript: Node would strip types of this file at every start.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)
const cache = new URL('node_modules/.cache/', root)

/** Returns the URLs of the bundles by import specifier; none if npm has changed node_modules since they were built. */
function currentBundles() {
  try {
    const { lock, files } = JSON.parse(readFileSync(new URL('sluice-libraries/index.json', cache), 'utf8'))
    const installed = readFileSync(new URL('node_modules/.package-lock.json', root))
    return createHash('sha256').update(installed).digest('hex') === lock
      ? new Map(
          Object.entries(files).map(([name, file]) => [name, new URL(`sluice-libraries/${file}`, cache).href])
        )
      : new Map()
  } catch {
    return new Map()
  }
}

const bundles = currentBundles()
const isOurs = /^(agent|config|kernel|kit|native|plugins|test)\//

/** Leaves imports of libraries and of plugins outside the checkout to Node. */
function resolve(specifier, context, next) {
  const { parentURL = '' } = context
  if (!parentURL.startsWith(root.href) || !isOurs.test(parentURL.slice(root.href.length)))
    return next(specifier, context)
  if (specifier.startsWith('.') && specifier.endsWith('.ts'))
    return { url: new URL(specifier, parentURL).href, format: 'module-typescript', shortCircuit: true }
  const bundle = bundles.get(specifier)
  return bundle === undefined
    ? next(specifier, context)
    : { url: bundle, format: 'module', shortCircuit: true }
}

// An older Node has neither; kernel/bin.ts refuses it.
module.enableCompileCache?.(fileURLToPath(new URL('sluice', cache)))
module.registerHooks?.({ resolve })
