// Agents that write an access log, and callers that scan.
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { clientHello } from '../../../test/engine/client-hellos.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'
import { startWebServer } from '../../../test/support/web.ts'

/** A real server and agent with an access log. */
export async function openAgent(t: Test, settings = '') {
  const cluster = await testCluster(t)
  const file = join(cluster.dir, 'access.log')
  const agentConfig = join(cluster.dir, 'agent.toml')
  writeFileSync(agentConfig, `[plugins.access-log]\nto = "file:${file}"\n${settings}`)
  const { agent } = await startAgent(t, cluster, 'edge', { args: ['--config', agentConfig] })
  const push = async (more: object = {}) => {
    const port = await freePort()
    const targets = [{ host: '127.0.0.1', port: await startWebServer(t) }]
    await cluster.call('POST', '/v1/rules', { client: 'edge', listen_port: port, targets, ...more })
    return port
  }
  return { agent, dir: cluster.dir, file, push }
}

/** Requests a TLS name that no rule has. */
export async function scan(port: number, localAddress: string): Promise<void> {
  const hello = await clientHello({ servername: 'other.test' })
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {}) // the reset that it gets
  socket.write(hello)
  await new Promise(resolve => socket.once('close', resolve))
}
