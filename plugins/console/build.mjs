// Builds the console pages: at `npm install` in a checkout, and by `npm run build:console`. An installed package contains the
// built pages and no browser libraries, so there is nothing to build.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const web = join(import.meta.dirname, 'web')
const findVite = () => {
  try {
    return createRequire(join(web, 'package.json')).resolve('vite/package.json')
  } catch {
    return null
  }
}

const found = existsSync(web) ? findVite() : null
if (found === null) console.log('sluice: console pages not built, because Vite is not installed')
else {
  const program = join(found, '..', 'bin', 'vite.js')
  const { status } = spawnSync(
    process.execPath,
    [program, 'build', web, '--config', join(web, 'vite.config.ts'), '--logLevel', 'warn'],
    {
      stdio: 'inherit'
    }
  )
  if (status === 0) console.log('sluice: console pages built')
  else {
    console.log('sluice: console pages failed to build; the server runs without them')
    process.exitCode = process.argv.includes('--strict') ? 1 : 0
  }
}
