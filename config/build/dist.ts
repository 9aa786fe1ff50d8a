// Builds dist/, the code of the published package: checks types, copies .proto files, makes the program executable.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentBundle } from './agent/bundle.ts'
import { writeDocuments } from './documents.ts'
import { importBundledLibraries } from './library-bundles.ts'
import { writeManual } from './manual-pages.ts'
import { buildSite } from './site/build.ts'

const root = join(import.meta.dirname, '..', '..')
// Packages stay: they take long to build, and their builder replaces them.
for (const entry of globSync('dist/*', { cwd: root, exclude: ['dist/packages'] }))
  rmSync(join(root, entry), { recursive: true })
const types = spawnSync(process.execPath, ['config/build/operation-types.ts'], {
  cwd: root,
  stdio: 'inherit'
})
if (types.status !== 0) process.exit(types.status ?? 1)
const { status } = spawnSync('tsc', ['-p', 'config/build/tsconfig.json', '--checkers', '2'], {
  cwd: root,
  stdio: 'inherit'
})
if (status !== 0) process.exit(status ?? 1)
await importBundledLibraries(join(root, 'dist'))
const pages = spawnSync(process.execPath, ['plugins/console/build.mjs', '--strict'], {
  cwd: root,
  stdio: 'inherit'
})
if (pages.status !== 0) process.exit(pages.status ?? 1)
for (const proto of globSync('{kernel,plugins,agent}/**/*.proto', { cwd: root, exclude: ['**/test/**'] }))
  cpSync(join(root, proto), join(root, 'dist', proto))
for (const index of ['command-index.json', 'error-index.json'])
  cpSync(join(root, 'config', index), join(root, 'dist/config', index))
cpSync(join(root, 'plugins/extensions/template'), join(root, 'dist/plugins/extensions/template'), {
  recursive: true
})
cpSync(join(root, 'plugins/installer/install.sh'), join(root, 'dist/plugins/installer/install.sh'))
cpSync(join(root, 'plugins/console/dist'), join(root, 'dist/plugins/console/dist'), { recursive: true })
writeManual(join(root, 'dist/man'))
await writeDocuments(root)
await buildSite(join(root, 'dist/site'))
writeFileSync(join(root, 'dist/agent.mjs'), await agentBundle(), { mode: 0o755 })
// Includes the native engine of this machine, for installations without a compiler.
const built = join(root, 'native/build/Release/sluice.node')
if (existsSync(built))
  cpSync(built, join(root, `native/prebuilds/${process.platform}-${process.arch}/sluice.node`))
chmodSync(join(root, 'dist/kernel/bin.js'), 0o755)
