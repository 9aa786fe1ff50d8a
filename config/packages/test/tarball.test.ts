import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { outDir, version } from '../run.ts'
import { runSluice, startDeployment } from './machine.ts'

const name = `sluice-${version}-${process.platform}-${process.arch}`

t.test('the tarball needs only a C library: no Node, and no PATH', async t => {
  const dir = t.testdir({ server: {}, agent: {} }) // on the checkout's disk: the store refuses tmpfs
  const untar = spawnSync('tar', ['-xzf', join(outDir, `${name}.tar.gz`), '-C', dir], { encoding: 'utf8' })
  t.equal(untar.status, 0, untar.stderr)
  const sluice = [join(dir, name, 'bin', 'sluice')]
  const serverDir = join(dir, 'data', 'server')
  const agentDir = join(dir, 'data', 'agent')
  mkdirSync(join(dir, 'data'))
  const machine = { prefix: [], sluice, serverDir, agentDir, env: { HOME: join(dir, 'data') } }
  t.equal(runSluice(machine, ['--version']).trim(), version)
  t.match(runSluice(machine, ['agent', 'join', '--help']), '--service', 'the single-file agent lacks it')

  const deployment = await startDeployment(t, machine)

  t.equal(await deployment.forward(), 'got x')
  t.match(await deployment.agent.until('engine.selected'), { engine: 'native' })
  await deployment.agent.stop()
  await deployment.server.stop()
})
