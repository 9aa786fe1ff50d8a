// Runs a command in a container, as this process: run-container.ts FOLDER WORDS... See container.ts.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const [dir = '', ...args] = process.argv.slice(2)
const spec = JSON.parse(readFileSync(join(dir, 'spec.json'), 'utf8'))
const given = Object.entries(process.env).flatMap(([name, value]) =>
  name.startsWith('SVC_') ? [`${name}=${value}`] : []
)
const bundle = mkdtempSync(join(dir, 'containers', 'sluice-'))
const env = [...spec.process.env, ...given]
writeFileSync(
  join(bundle, 'config.json'),
  JSON.stringify({ ...spec, process: { ...spec.process, env, args } })
)
const options = ['--root', join(dir, 'state')]
process.execve?.('/usr/sbin/runc', ['runc', ...options, 'run', '--bundle', bundle, basename(bundle)])
