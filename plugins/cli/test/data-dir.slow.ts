// Directories of server and agent: their precedence, and that a refused directory stays unchanged.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sluice } from '../../../test/support/process.ts'
import { unsuitableFilesystem } from '../server/check-filesystem.ts'

const uri = `svc://127.0.0.1:1/enroll?pin=sha256:${'a'.repeat(64)}&code=x`
const backup = 'nightly.backup'

/** Commands that create or open a directory. */
const commands: readonly [string[], string][] = [
  [['server'], '--data-dir'],
  [['up'], '--data-dir'],
  [['cert', 'activate'], '--data-dir'],
  [['bootstrap-superadmin'], '--data-dir'],
  [['agent', 'run', '--bundle', 'none'], '--state-dir'],
  [['agent', 'enroll', uri], '--state-dir']
]

t.test('a directory that others can read or write is refused with 78 and stays unchanged', async t => {
  const dir = t.testdir()
  for (const mode of [0o755, 0o740, 0o720, 0o704, 0o702]) {
    chmodSync(dir, mode)
    const { code, stderr } = await sluice(['server', '--data-dir', dir])
    t.match({ code, stderr }, { code: 78, stderr: /^startup\.insecure_permissions: .*chmod 700/ })
    t.equal(statSync(dir).mode & 0o777, mode)
  }
  chmodSync(dir, 0o755)
  for (const [command, flag] of commands.filter(([words]) => words[1] !== 'run')) {
    const { code, stderr } = await sluice([...command, flag, dir])
    t.match({ code, stderr }, { code: 78, stderr: /^startup\.insecure_permissions/ }, command.join(' '))
  }
  t.equal(statSync(dir).mode & 0o777, 0o755)
  t.same(readdirSync(dir), [])
})

const skip = unsuitableFilesystem('/dev/shm') === 'tmpfs' ? false : 'there is no tmpfs at /dev/shm'

t.test(
  'on an unsuitable filesystem nothing is created, and a directory keeps its mode',
  { skip },
  async t => {
    const dir = mkdtempSync('/dev/shm/sluice-test-')
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    chmodSync(dir, 0o755)
    for (const [command, flag] of commands.filter(([, flag]) => flag === '--data-dir'))
      for (const path of [dir, join(dir, 'a/b')]) {
        const { code, stderr } = await sluice([...command, flag, path])
        t.match({ code, stderr }, { code: 78, stderr: /^startup\.unsupported_filesystem/ }, command.join(' '))
      }
    t.same(readdirSync(dir), [])
    t.equal(statSync(dir).mode & 0o777, 0o755)
  }
)

t.test('an empty directory name counts as not given: the next source is used', async t => {
  const dir = t.testdir()
  const next = { XDG_STATE_HOME: dir, HOME: '/nowhere' }
  const usedBy = async (env: Record<string, string>, ...args: string[]) =>
    /there is no store in (\S+);/.exec((await sluice(['backup', backup, ...args], env)).stderr)?.[1]
  const table: readonly [string, Record<string, string>, string[]][] = [
    [join(dir, 'sluice'), next, ['--data-dir', '']],
    [join(dir, 'sluice'), { ...next, SVC_DATA_DIR: '' }, []],
    [join(dir, 'env'), { ...next, SVC_DATA_DIR: join(dir, 'env') }, ['--data-dir', '']],
    [join(dir, 'systemd'), { ...next, SVC_DATA_DIR: '', STATE_DIRECTORY: join(dir, 'systemd') }, []],
    ['/nowhere/.local/state/sluice', { ...next, XDG_STATE_HOME: 'relative' }, []]
  ]

  for (const [path, env, args] of table) t.equal(await usedBy(env, ...args), path)
  t.notOk(existsSync('.local'), 'nothing is created in the current directory')
})

t.test('a start with an invalid configuration creates no directory', async t => {
  const dir = join(t.testdir(), 'data')
  for (const SVC_LOG_LEVEL of ['loud', 'DEBUG']) {
    t.equal((await sluice(['server', '--data-dir', dir], { SVC_LOG_LEVEL })).code, 78)
    t.notOk(existsSync(dir))
  }
})

t.test('the error for a failed lock names the cause: "in use" means a second server', async t => {
  const dir = join(t.testdir(), 'data')
  mkdirSync(join(dir, 'lock.db'), { recursive: true, mode: 0o700 })
  t.match(await sluice(['server', '--data-dir', dir]), {
    code: 78,
    stderr: /^startup\.data_dir_unusable: .* cannot be locked/
  })
  t.match(await sluice(['agent', 'enroll', uri, '--state-dir', join(dir, 'lock.db/x/../../y')]), { code: 69 })
})
