// Runs the command as a process and checks exit code and output.
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

t.test('no check fails: exit 0, and every finding is a row', async t => {
  const { code, stdout } = await sluice(
    ['doctor', '--data-dir', privateDir(t), '--output', 'json'],
    freePorts
  )

  t.equal(code, 0, stdout)
  t.match(JSON.parse(stdout)[0], { check: 'directory', is: 'ok', id: null, remedy: null })
})

t.test('a port in use by another process: exit 1, with a remedy', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as AddressInfo // of TCP

  const result = await sluice(['doctor', '--data-dir', privateDir(t)], {
    ...freePorts,
    SVC_CONTROL_LISTEN: `127.0.0.1:${port}`
  })

  t.match(result, { code: 1, stderr: /^doctor_failed: 1 of \d+ checks failed/ })
  t.match(result.stdout, /fail, port\.taken: control_listen .*EADDRINUSE.*\n {2}stop the process that has it/)
})

t.test('a process that holds the data directory and does not listen is detected by its lock', async t => {
  const dir = privateDir(t)
  t.teardown(lockStore(dir))

  const result = await sluice(['doctor', '--data-dir', dir], {
    ...freePorts,
    SVC_METRICS_LISTEN: '127.0.0.1:1'
  })

  t.match(result, { code: 1, stdout: /another process uses .* nobody listens on metrics_listen/ })
})
