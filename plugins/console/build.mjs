// Builds the pages of the console, at `npm install` in a checkout and by `npm run build:console`. An installed package has
// them, and no browser libraries: there is nothing to build.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const web = join(import.meta.dirname, 'web')
const vite = () => {
  try {
    return createRequire(join(web, 'package.json')).resolve('vite/package.json')
  } catch {
    return null
  }
}

const found = existsSync(web) ? vite() : null
if (found === null) console.log('sluice: the pages of the console are not built here: Vite is not installed')
else {
  const program = join(found, '..', 'bin', 'vite.js')
  const { status } = spawnSync(
    process.execPath,
    [program, 'build', web, '--config', join(web, 'vite.config.ts'), '--logLevel', 'warn'],
    {
      stdio: 'inherit'
    }
  )
  if (status === 0) console.log('sluice: the pages of the console are built')
  else {
    console.log('sluice: the pages of the console could not be built; the server runs without them')
    process.exitCode = process.argv.includes('--strict') ? 1 : 0
  }
}
