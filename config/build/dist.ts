// Builds dist/, the code of the published package: checks types, copies .proto files, makes the program executable.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeManual } from './man.ts'

const root = join(import.meta.dirname, '..', '..')
rmSync(join(root, 'dist'), { recursive: true, force: true })
const { status } = spawnSync('tsc', ['-p', 'config/build/tsconfig.json', '--checkers', '2'], {
  cwd: root,
  stdio: 'inherit'
})
if (status !== 0) process.exit(status ?? 1)
for (const proto of globSync('{kernel,plugins,agent}/**/*.proto', { cwd: root, exclude: ['**/test/**'] }))
  cpSync(join(root, proto), join(root, 'dist', proto))
cpSync(join(root, 'config/command-index.json'), join(root, 'dist/config/command-index.json'))
cpSync(join(root, 'plugins/extensions/template'), join(root, 'dist/plugins/extensions/template'), {
  recursive: true
})
writeManual(join(root, 'dist/man'))
// Includes the native engine of this machine, for installations without a compiler.
const built = join(root, 'native/build/Release/sluice.node')
if (existsSync(built))
  cpSync(built, join(root, `native/prebuilds/${process.platform}-${process.arch}/sluice.node`))
chmodSync(join(root, 'dist/kernel/bin.js'), 0o755)
