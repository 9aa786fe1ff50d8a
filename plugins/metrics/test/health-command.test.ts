// The health commands, as a container without a shell runs them.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { privateDir } from '../../../test/support/private-dir.ts'
import { toReadinessAnswer } from '../../http/listener-exports.ts'
import { commands } from '../commands.ts'

/** Serves one reply at every path, and records the paths. */
async function serve(t: Test, status: number, body: string) {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(String(request.url))
    response.writeHead(status).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { paths, listen: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function run(name: string, args: object, env: Readonly<Record<string, string>>) {
  const printed: string[] = []
  const print = { done: (text: string) => void printed.push(text) }
  const call = { args, env, print } as unknown as CommandCall<never> // only the members that these commands use
  const failure = await commands
    .find(command => command.name === name)
    ?.run(call)
    .catch((error: unknown) => error)
  return { printed, failure: failure instanceof Fault ? failure : null }
}

t.test('a live server is healthy, at the address of its metrics_listen', async t => {
  const { listen, paths } = await serve(t, 200, '{"status":"live"}')
  const port = listen.split(':')[1]
  const { printed, failure } = await run('health', {}, { SVC_METRICS_LISTEN: `0.0.0.0:${port}` })
  t.equal(failure, null)
  t.match(printed, [/127\.0\.0\.1:\d+\/livez says live/])
  t.same(paths, ['/livez'])
})

t.test('a server that is not ready is unhealthy with exit code 1, and the failed check is named', async t => {
  const checks = [
    { name: 'store', status: 'failed', reason: 'its disk is full' },
    { name: 'process', status: 'ok', reason: '' }
  ] as const
  const { status, body } = toReadinessAnswer(checks)
  const { listen, paths } = await serve(t, status, body)
  const { failure } = await run('health', { ready: true }, { SVC_METRICS_LISTEN: listen })
  t.match(failure, {
    errorCode: { code: 'unhealthy', exit: 1 },
    message: /answers 503: store: its disk is full$/
  })
  t.same(paths, ['/readyz'])
})

t.test('no answer, and an answer of another program, are unhealthy', async t => {
  t.match((await run('health', {}, { SVC_METRICS_LISTEN: '127.0.0.1:1' })).failure, {
    errorCode: { exit: 1 },
    message: /^no answer at http:\/\/127\.0\.0\.1:1\/livez: .*ECONNREFUSED/
  })
  const { listen } = await serve(t, 200, '<html>')
  t.match((await run('health', {}, { SVC_METRICS_LISTEN: listen })).failure, { errorCode: { exit: 1 } })
})

t.test('an agent answers at its own metrics_listen, and without one on its socket', async t => {
  const state_dir = privateDir(t)
  const { listen } = await serve(t, 200, '{"status":"live"}')
  const env = { SVC_METRICS_LISTEN: '127.0.0.1:1', SVC_AGENT_METRICS_LISTEN: listen }
  t.match(await run('agent health', { state_dir }, env), { failure: null, printed: [/says live/] })
  t.match((await run('agent health', { state_dir }, {})).failure, {
    errorCode: { code: 'unhealthy', exit: 1 },
    message: /state directory|state_dir/ // the path may be too long for a socket
  })
})
