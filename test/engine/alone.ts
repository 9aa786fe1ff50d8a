// An engine alone in its process: node alone.ts LISTEN-PORT TARGET-PORT; tells how it is when asked, stops when told.
import { readdirSync } from 'node:fs'
import type { Counters } from '../../agent/engine.ts'
import { openPortableEngine } from '../../agent/portable-engine/index.ts'

export interface State {
  readonly counters: Counters | undefined
  readonly descriptors: number
}

const [from = 0, port = 0] = process.argv.slice(2).map(Number)
const engine = openPortableEngine({ bind: ['127.0.0.1'], onEvents() {} })
await engine.open({
  id: 1,
  protocol: 'tcp',
  from,
  to: from,
  targets: [{ host: '127.0.0.1', port }],
  preferIpv6: false,
  idleMs: 60_000,
  source: null,
  target: []
})

process.on('message', async question => {
  if (question === 'stop') {
    await engine.stop()
    process.disconnect() // from here on, only what the engine forgot can keep the process
    return
  }
  const [counters] = engine.sample()
  const state: State = { counters, descriptors: readdirSync('/proc/self/fd').length }
  process.send?.(state)
})
process.send?.('open')
