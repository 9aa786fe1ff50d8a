#!/usr/bin/env node
// argv to server, agent or command. The only file that ends the process, and the only one that knows both halves.
import { existsSync } from 'node:fs'
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

// In the published build the agent is one file: it loads faster, and holds less memory than its modules.
const agent = new URL('../agent.mjs', import.meta.url)
if (process.argv[2] === 'agent' && existsSync(agent)) await import(agent.href)
else process.exit(await (await import('../plugins/cli/main.ts')).run(process.argv.slice(2)))
