// Measures garbage per request.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Type } from 'typebox'
import { type Call, defineRoute } from '../../../kernel/http/route.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'

setFlagsFromString('--allow-natives-syntax')
const isFast = runInNewContext('object => %HasFastProperties(object)') as (object: object) => boolean

t.test('requests share one hidden class, which retains none of their calls', async t => {
  const calls: Call[] = []
  const keeping = definePlugin({
    name: 'keeping',
    version: '1.0.0',
    kernel: '^2.0.0',
    routes: [
      defineRoute({
        method: 'GET',
        url: '/v1/kept',
        action: 'kept.read',
        access: 'public',
        summary: 'Stores its calls.',
        schema: () => ({ reply: Type.Object({}), errors: [] }),
        async run(_, call) {
          calls.push(call)
          return {}
        }
      })
    ]
  })
  const { call } = await testServer(t, { plugins: [keeping] })

  for (let at = 0; at < 3; at++) await call('GET', '/v1/kept')

  const third = calls.at(-1)
  t.ok(third && isFast(third))
  t.equal(third?.signal, third?.signal)
  t.equal(third?.signal.aborted, false)
})
