// Opens a value as TOML in the operator's editor. What was edited is never lost: a file that is refused is kept.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Fault, internal, invalidSchema, reasonOf, wrongUsage } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'

interface Edited {
  readonly name: string // of the file
  readonly head: string // comments above the value
  readonly value: object
}

/**
 * Runs $VISUAL or $EDITOR (default: vi) until `send` takes the edited value. Refused, it asks at a terminal whether to
 * edit again; else it throws the Fault, with the name of the file that is kept.
 */
export async function editText(
  { env, input, confirm }: Pick<CommandCall<object>, 'env' | 'input' | 'confirm'>,
  { name, head, value }: Edited,
  send: (value: unknown) => Promise<void>
): Promise<void> {
  const { parse, stringify } = await import('smol-toml')
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-')), `${name}.toml`) // a folder of the caller alone
  writeFileSync(file, `${head}\n\n${stringify(value)}\n`, { mode: 0o600 })
  const isTerminal = 'isTTY' in input && input.isTTY === true
  for (;;) {
    openEditor(env['VISUAL'] || env['EDITOR'] || 'vi', file)
    try {
      await send(parsed(parse, file))
      rmSync(dirname(file), { recursive: true })
      return
    } catch (error) {
      const code = error instanceof Fault ? error.errorCode : internal
      const refused = new Fault(code, `${reasonOf(error)}; what you edited is kept in ${file}`, {
        cause: error
      })
      const isFinal = code.code === 'resource_changed' // another edit of this file would not be sent either
      if (isFinal || !isTerminal || !(await isWanted(confirm, refused))) throw refused
    }
  }
}

function parsed(parse: (text: string) => unknown, file: string): unknown {
  try {
    return JSON.parse(JSON.stringify(parse(readFileSync(file, 'utf8')))) // plain objects, and times as text
  } catch (cause) {
    throw new Fault(invalidSchema, `it is not TOML: ${reasonOf(cause)}`, { cause })
  }
}

/** The command may have arguments, as in `code --wait`: a shell splits them. */
function openEditor(editor: string, file: string): void {
  const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
  if (status === 0) return
  const why = error ? reasonOf(error) : `it ended with ${status}`
  throw new Fault(wrongUsage, `the editor ${editor} did not edit ${file}: ${why}; set VISUAL or EDITOR`)
}

const isWanted = (confirm: CommandCall<object>['confirm'], { message }: Fault): Promise<boolean> =>
  confirm(`${message}. Edit it again?`).then(
    () => true,
    () => false
  )
