// Where commands write: results to standard output, remarks to standard error, in every format.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import t from 'tap'
import { program, sluice } from '../../../test/support/process.ts'

const skip = existsSync('/dev/full') ? false : 'there is no /dev/full'

/** Runs sluice in a shell, which redirects its output. */
const shell = (command: string) =>
  spawnSync(
    'bash',
    ['-c', `set -o pipefail; sluice() { "${process.execPath}" "${program()}" "$@"; }; ${command}`],
    {
      encoding: 'utf8'
    }
  )

t.test('a result that cannot be written is an error', { skip }, async t => {
  for (const command of [
    'gen-token',
    'completion bash',
    'explain-error usage',
    '--help',
    'gen-token --output json'
  ]) {
    const { status, stderr } = shell(`sluice ${command} > /dev/full`)
    t.equal(status, 1, command)
    t.match(stderr, /output_failed.*standard output: .*ENOSPC.*its result is lost/s)
  }
})

t.test('arguments and secrets that are not UTF-8 are refused, not replaced', async t => {
  const argument = shell("sluice rule list --client $'caf\\xe9'")
  t.equal(argument.status, 2)
  t.match(argument.stderr, /usage: argument 4 is not UTF-8/)
  t.notMatch(shell("sluice rule list --client 'caf\ufffd'").stderr, /not UTF-8/, 'a written U+FFFD')
  const secret = shell("printf 'p\\xe9ssword-very-long\\n' | sluice login bob")
  t.equal(secret.status, 2)
  t.match(secret.stderr, /standard input has bytes that are not UTF-8/)
})

t.test('a reader that ends early ends the command without a message', async t => {
  const { status, stderr } = shell(
    'sluice completion bash | true; echo; sluice completion bash | head -1 > /dev/null'
  )

  t.equal(stderr, '')
  t.ok(status === 0 || status === 1, `exit ${status}: the reader may have ended before or after the write`)
})

t.test('a text result is on standard output in both formats', async t => {
  const table = await sluice(['completion', 'bash'])
  const json = await sluice(['completion', 'bash', '--output', 'json'])

  t.match(table.stdout, /complete -o bashdefault/)
  t.same(json, table)
})
