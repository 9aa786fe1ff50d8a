// Exit code and output of the command, run as a process.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { lockStore } from '../../../kernel/store/data-dir.ts'
import { privateDir } from '../../../test/support/private-dir.ts'
import { sluice } from '../../../test/support/process.ts'

const freePorts = {
  SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
  SVC_CONTROL_LISTEN: '127.0.0.1:0',
  SVC_METRICS_LISTEN: '127.0.0.1:0'
}

t.test('without a failed check the command exits with 0 and prints a row for each finding', async t => {
  const { code, stdout } = await sluice(
    ['doctor', '--data-dir', privateDir(t), '--output', 'json'],
    freePorts
  )

  t.equal(code, 0, stdout)
  t.match(JSON.parse(stdout)[0], { check: 'directory', status: 'ok', id: null, remedy: null })
})

t.test('for a port in use by another process the command exits with 1 and prints a remedy', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as AddressInfo // not a pipe

  const result = await sluice(['doctor', '--data-dir', privateDir(t)], {
    ...freePorts,
    SVC_CONTROL_LISTEN: `127.0.0.1:${port}`
  })

  t.match(result, { code: 1, stderr: /^doctor_failed: 1 of \d+ checks failed/ })
  t.match(result.stdout, /fail, port\.taken: control_listen .*EADDRINUSE.*\n {2}stop that process/)
})

t.test('a process that locks the data directory but does not listen is found', async t => {
  const dir = privateDir(t)
  t.teardown(lockStore(dir))

  const result = await sluice(['doctor', '--data-dir', dir], {
    ...freePorts,
    SVC_METRICS_LISTEN: '127.0.0.1:1'
  })

  t.match(result, { code: 1, stdout: /another process uses .* nothing listens on metrics_listen/ })
})
