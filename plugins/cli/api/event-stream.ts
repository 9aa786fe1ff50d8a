/** Parses server-sent events (WHATWG HTML, 9.2) in the format of our server: JSON data on one line. */
export async function* readEvents(
  chunks: AsyncIterable<string>
): AsyncGenerator<{ event: string; data: unknown }> {
  let rest = ''
  for await (const chunk of chunks) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, event] = /^event: (.*)$/m.exec(block) ?? []
      const [, data] = /^data: (.*)$/m.exec(block) ?? []
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) }
    }
  }
}
