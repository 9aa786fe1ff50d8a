// A plugin that blocks the server for two seconds, or throws an uncaught error.
import { EventEmitter } from 'node:events'
import { connect } from 'node:net'
import { definePlugin, defineRoute, Type } from 'sluice/plugin'

const spin = defineRoute({
  method: 'POST',
  url: '/v1/spin',
  action: 'spin',
  access: 'superadmin',
  status: 204,
  summary: 'Blocks the event loop for two seconds.',
  schema: () => ({ reply: Type.Void() }),
  async run() {
    const end = performance.now() + 2_000
    while (performance.now() < end);
  }
})

const drop = defineRoute({
  method: 'POST',
  url: '/v1/drop',
  action: 'drop',
  access: 'superadmin',
  status: 204,
  summary: 'Throws an uncaught error in a timer or a promise.',
  schema: () => ({
    query: Type.Object({ by: Type.String() }, { additionalProperties: false }),
    reply: Type.Void()
  }),
  async run(_, { query }) {
    const fail = () => {
      const error = new Error('dropped')
      if (query.by === 'server')
        error.stack = `Error: dropped\n    at ${new URL('../../../watchdog/test/kernel/kernel.ts', import.meta.resolve('sluice/plugin'))}:1:1`
      throw error
    }
    if (query.by === 'socket')
      connect(1, '127.0.0.1') // fails, without an error listener
    else if (query.by === 'listener') setImmediate(() => new EventEmitter().on('x', fail).emit('x'))
    else if (query.by !== 'promise') setTimeout(fail)
    else void Promise.resolve().then(fail)
  }
})

const beat = defineRoute({
  method: 'POST',
  url: '/v1/beat',
  action: 'beat',
  access: 'superadmin',
  status: 204,
  summary: 'Fails in timers of the server, as if no plugin had started them.',
  schema: () => ({ reply: Type.Void() }),
  async run({ clock }) {
    const fail = async () => {
      const error = new Error('dropped')
      error.stack = 'Error: dropped'
      throw error
    }
    clock.every(10, fail)
    clock.after(10, fail)
  }
})

export default definePlugin({
  name: 'looper',
  version: '1.0.0',
  kernel: '^2.0.0',
  routes: [spin, drop, beat]
})
