import type { Column, Print } from '../../kernel/cli/command.ts'

interface Issued {
  readonly uri: string
  readonly command: string
}

/** The command is the last line of the result, so that a script can take it with `tail -n 1`. */
export function printCommand<I extends Issued>(print: Print, issued: I, columns: readonly Column<I>[]): void {
  if (/^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(issued.uri).hostname))
    print.note(
      'only agents on the host of the server reach this address; for other hosts run sluice settings set-endpoint'
    )
  print.data(issued, columns, issued.command)
  print.note(`As a systemd service: sluice agent join '${issued.uri}' --service`)
}
