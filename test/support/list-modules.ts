// Preloaded with --import. Writes the URLs of all loaded modules to the file in LOADED_MODULES, starting with the first
// module of the project, since the test runner preloads others.
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const loaded = new Set<string>()
registerHooks({
  load(url, context, next) {
    if (loaded.size > 0 || /^file:(?!.*\/node_modules\/)/.test(url)) loaded.add(url)
    return next(url, context)
  }
})
process.on('exit', () => writeFileSync(process.env['LOADED_MODULES'] ?? '', JSON.stringify([...loaded])))
