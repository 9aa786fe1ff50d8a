#!/usr/bin/env node
// argv to server, agent or command. The only file that ends the process, and the only one that knows both halves.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `sluice needs Node 24 or newer, this is ${process.version} (in a checkout: npm start)\n`
  )
  process.exit(78)
}

const { runCommandLine } = await import('../plugins/cli/run.ts')
const { plugins } = await import('../config/plugins.ts')
const { commands } = await import('../agent/commands.ts')

process.exit(await runCommandLine(process.argv.slice(2), { plugins, agentCommands: commands }))

export {}
