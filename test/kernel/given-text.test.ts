// Paths and secrets as people write them into files and variables.
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { pathArgument, pathProblem } from '../../kernel/platform/path-problem.ts'
import { requireSecret, secretProblem, tokenProblem } from '../../kernel/platform/secret-problem.ts'
import { tokenFor } from '../../plugins/cli/api/login-file.ts'
import { openSecretReader } from '../../plugins/cli/terminal/secret-reader.ts'
import { askPassword } from '../../plugins/users/exports.ts'

t.test(
  'a path that only a shell understands, or that depends on the working directory, is refused',
  async t => {
    for (const path of ['/var/lib/sluice', '/var/lib/my sluice', '/a/~/b', '/a/../b', '/a//b/', '/für/Daten'])
      t.equal(pathProblem(path), null, path)
    const refused: readonly [string, string][] = [
      ['~/x', `write ${join(homedir(), 'x')}: only a shell expands ~`],
      ['~', `write ${homedir()}: only a shell`],
      ['~ann/x', 'write /home/ann/x: only a shell'],
      ['x', `write ${resolve('x')}: a service has another working directory`],
      ['./x', `write ${resolve('x')}: a service`],
      ['', 'must be an absolute path'],
      ['$HOME/x', 'must not have a variable'],
      ['/home/$USER/x', 'must not have a variable'],
      ['/x\r', 'must not have a line break'],
      ['/x\n', 'must not have a line break'],
      ['/x\u0000y', 'must not have a line break or another control character'],
      ['/x ', 'must not begin or end with white space'],
      ['\ufeff/x', 'must not begin or end with white space'],
      ['"/x"', 'must not be in quotes'],
      ["'/x'", 'must not be in quotes']
    ]
    for (const [path, words] of refused) t.match(pathProblem(path), words, JSON.stringify(path))
  }
)

t.test('a path in an argument is relative to the working directory, but ~ is never a directory', async t => {
  t.equal(pathArgument('--bundle', 'a b'), resolve('a b'))
  t.throws(() => pathArgument('--bundle', '~/x'), {
    errorCode: { code: 'usage' },
    message: /^--bundle must .*shell/
  })
})

t.test('a secret with a line end, quotes or white space around it is refused, and never shown', async t => {
  for (const secret of ['a secret', 'it"s', '"', 'ends with "', 'pässwort'])
    t.equal(secretProblem(secret), null, secret)
  const refused: readonly [string, string][] = [
    ['hidden\r', 'line break'],
    ['hidden\n', 'line break'],
    ['hidden\r\n', 'line break'],
    ['hid\nden', 'line break'],
    ['hid\u0000den', 'control character'],
    [' hidden', 'white space'],
    ['hidden\t', 'control character'],
    ['hidden\u00a0', 'white space'],
    ['\ufeffhidden', 'byte order mark'],
    ['"hidden"', 'quotes'],
    ["'hidden'", 'quotes'],
    ['“hidden”', 'quotes'],
    ['', 'empty']
  ]
  for (const [secret, words] of refused) {
    const problem = secretProblem(secret) ?? ''
    t.match(problem, words, JSON.stringify(secret))
    t.notMatch(problem, 'hid')
  }
  t.match(tokenProblem('a token'), 'no request can carry')
  t.match(tokenProblem('tokén'), 'no request can carry')
  t.throws(() => requireSecret('SVC_PASSWORD', '"x"'), {
    errorCode: { code: 'usage' },
    message: /^SVC_PASSWORD is in quotes/
  })
})

t.test(
  'commands refuse such secrets from the environment and standard input before they ask a server',
  async t => {
    const origin = 'http://127.0.0.1:1'
    for (const name of ['SVC_TOKEN', 'SVC_OPERATOR_TOKEN'])
      for (const token of ['hidden\r', '"hidden"', ' hidden'])
        await t.rejects(tokenFor(origin, { [name]: token }), {
          errorCode: { code: 'usage' },
          message: new RegExp(`^${name} (?!.*hidden)`)
        })
    const source = (line: string, env = {}) => ({ env, input: Readable.from([line]) })
    const wanted = { variable: 'SVC_PASSWORD', prompt: '' }
    const refused = {
      errorCode: { code: 'usage' },
      message: /^(?!.*hidden).*(quotes|white space|line break)/
    }
    await t.rejects(openSecretReader(source('', { SVC_PASSWORD: "'hidden'" })).ask(wanted), refused)
    await t.rejects(openSecretReader(source('"hidden"\n')).ask(wanted), refused)
    const lines = openSecretReader(source('not hidden\r\n\nnext\n'))
    t.equal(await lines.ask(wanted), 'not hidden')
    t.equal(await lines.ask(wanted), 'next', 'each secret is one line')
    await t.rejects(lines.ask(wanted), { message: /no secret: set SVC_PASSWORD/ })
    await t.rejects(askPassword(source('', { SVC_NEW_PASSWORD: 'hidden\n' })), refused)
    await t.rejects(askPassword(source(' hidden\n')), refused)
  }
)
