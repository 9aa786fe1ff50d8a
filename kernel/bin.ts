#!/usr/bin/env node
// argv to server, agent or command. The only file that ends the process, and the only one that knows both halves.
import { existsSync } from 'node:fs'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `sluice needs Node 24 or newer, this is ${process.version} (in a checkout: npm start)\n`
  )
  process.exit(78)
}

if (import.meta.url.endsWith('.ts'))
  await import(new URL('../config/checkout/fast-imports.mjs', import.meta.url).href) // npm start has it already

// In the published build the agent is one file: it loads faster, and holds less memory than its modules.
const agent = new URL('../agent.mjs', import.meta.url)
if (process.argv[2] === 'agent' && existsSync(agent)) await import(agent.href)
else process.exit(await (await import('../plugins/cli/main.ts')).run(process.argv.slice(2)))
