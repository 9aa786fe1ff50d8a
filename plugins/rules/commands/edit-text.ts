// Opens a value as TOML in the operator's editor. A refused file is kept, so that no edit is lost.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
 * Runs $VISUAL or $EDITOR (default: vi) until `send` accepts the edited value. After a refusal, it asks at a terminal
 * whether to edit again; elsewhere it throws the Fault, with the path of the kept file.
 */
export async function editText(
  { env, input, confirm }: Pick<CommandCall<object>, 'env' | 'input' | 'confirm'>,
  { name, head, value }: Edited,
  send: (value: unknown) => Promise<void>
): Promise<void> {
  const { parse, stringify } = await import('smol-toml')
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-')), `${name}.toml`) // a private folder
  const unedited = `${head}\n\n${stringify(value)}\n`
  writeFileSync(file, unedited, { mode: 0o600 })
  const isTerminal = 'isTTY' in input && input.isTTY === true
  for (;;) {
    try {
      openEditor(env['VISUAL'] || env['EDITOR'] || 'vi', file)
    } catch (error) {
      if (!existsSync(file) || readFileSync(file, 'utf8') === unedited)
        rmSync(dirname(file), { recursive: true })
      throw error
    }
    try {
      await send(parsed(parse, file))
      rmSync(dirname(file), { recursive: true })
      return
    } catch (error) {
      const code = error instanceof Fault ? error.errorCode : internal
      const refused = new Fault(code, `${reasonOf(error)}; what you edited is kept in ${file}`, {
        cause: error
      })
      const isFinal = code.code === 'resource_changed' // a second edit of this file would fail, too
      if (isFinal || !isTerminal || !(await isWanted(confirm, refused))) throw refused
    }
  }
}

function parsed(parse: (text: string) => unknown, file: string): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
    return JSON.parse(JSON.stringify(parse(text))) // plain objects, and times as text
  } catch (cause) {
    throw new Fault(invalidSchema, `it is not TOML: ${reasonOf(cause)}`, { cause })
  }
}

/** The command may have arguments, as in `code --wait`: a shell splits them. */
function openEditor(editor: string, file: string): void {
  const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
  if (status === 0 && existsSync(file)) return
  const why = error ? reasonOf(error) : status === 0 ? 'the file is gone' : `it ended with ${status}`
  throw new Fault(wrongUsage, `the editor ${editor} did not edit ${file}: ${why}; set VISUAL or EDITOR`)
}

const isWanted = (confirm: CommandCall<object>['confirm'], { message }: Fault): Promise<boolean> =>
  confirm(`${message}. Edit it again?`).then(
    () => true,
    () => false
  )
