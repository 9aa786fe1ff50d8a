#!/usr/bin/env node
// argv to server, agent or command. The only file that ends the process, and the only one that knows both halves.
import module from 'node:module'
import { join } from 'node:path'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `sluice needs Node 24 or newer, this is ${process.version} (in a checkout: npm start)\n`
  )
  process.exit(78)
}

// In a checkout each start would strip the types from the sources again.
if (import.meta.url.endsWith('.ts'))
  module.enableCompileCache(join(import.meta.dirname, '..', 'node_modules', '.cache', 'sluice'))

const { runCommandLine } = await import('../plugins/cli/run.ts')
const { plugins } = await import('../config/plugins.ts')
const { commandModules: modules } = await import('../config/commands.ts')
const { index } = await import('../config/command-index.ts')

process.exit(await runCommandLine(process.argv.slice(2), { plugins, modules, index }))
