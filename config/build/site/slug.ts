/** Makes the anchor of a heading like code hosts do, so that links work in both places. A heading that is a code is its own anchor. */
export const slug = (title: string): string =>
  /^[a-z][a-z0-9_]*([._][a-z0-9_]+)*$/.test(title)
    ? title
    : title
        .trim()
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-')

/** Adds anchors to table rows: the codes or the term of the first cell, at the first occurrence in the page. */
export function withRowAnchors(html: string): string {
  const known = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id))
  return html.replaceAll(/<tr>\n<td>(.*?)<\/td>/g, (row, cell: string) => {
    const codes = [...cell.matchAll(/<code>([^<]+)<\/code>/g)].map(([, name = '']) => name)
    const names = [...codes, ...[...cell.matchAll(/^<strong>([^<]+)</g)].map(([, term = '']) => slug(term))]
    const fresh = names.filter(name => /^[\w.-]+$/.test(name) && !known.has(name))
    for (const name of fresh) known.add(name)
    const anchors = fresh.map(name => `<a id="${name}"></a>`).join('')
    return row.replace('<td>', () => `<td>${anchors}`)
  })
}
