// Preloaded by tests with --import: writes the URLs of the modules that the process has loaded to the file in
// LOADED_MODULES, starting with the first of the project, since the test runner preloads its own.
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
