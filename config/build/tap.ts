// `tap build` writes node_modules/@tapjs/test/test-built for the plugin list of .taprc. Runs it only if that is stale.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const built = join(root, 'node_modules/@tapjs/test/test-built/dist/esm/index.js')
if (!existsSync(built) || readFileSync(built, 'utf8').includes('@tapjs/typescript')) {
  const { status } = spawnSync('tap', ['build'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
