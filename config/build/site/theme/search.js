// The search field. Its first use loads the entries as a script, because pages opened as files can load only scripts.
const makeSearch = entries => {
  const index = new MiniSearch({
    fields: ['title', 'text'],
    storeFields: ['url', 'title', 'page'],
    searchOptions: { combineWith: 'AND', prefix: true, boost: { title: 6 } }
  })
  index.addAll(entries.map(([url, title, page, text], id) => ({ id, url, title, page, text })))
  const isExact = (result, query) => result.title.toLowerCase().replace(/^sluice /, '') === query
  return query => {
    const wanted = query
      .trim()
      .toLowerCase()
      .replace(/^sluice /, '')
    const found = index.search(wanted)
    const [exact, others] = [
      found.filter(result => isExact(result, wanted)),
      found.filter(result => !isExact(result, wanted))
    ]
    return [...exact.sort((a, b) => a.id - b.id), ...others].slice(0, 20) // reference pages come first
  }
}

const startSearch = () => {
  const field = document.getElementById('search')
  const results = document.getElementById('results')
  const { root } = document.body.dataset
  let search = null

  const show = () => {
    const found = search === null || field.value.trim() === '' ? [] : search(field.value)
    results.hidden = field.value.trim() === '' || search === null
    const items = found.map(({ url, title, page }) => {
      const [item, link, where] = ['li', 'a', 'small'].map(name => document.createElement(name))
      link.href = root + url
      link.textContent = title
      where.textContent = page
      item.append(link, where)
      return item
    })
    if (items.length === 0)
      items.push(Object.assign(document.createElement('li'), { textContent: 'nothing found' }))
    results.replaceChildren(...items)
  }

  const load = () => {
    const script = document.createElement('script')
    script.src = `${root}search-data.js`
    script.onload = () => {
      search = makeSearch(window.searchEntries)
      show()
    }
    document.head.append(script)
  }

  field.addEventListener('focus', load, { once: true })
  field.addEventListener('input', show)
  field.addEventListener('keydown', event => {
    if (event.key === 'Enter') results.querySelector('a')?.click()
    if (event.key === 'Escape') field.value = ''
    if (event.key === 'Escape') show()
  })
  results.addEventListener('click', () => {
    results.hidden = true
  })
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.target === field) return
    event.preventDefault()
    field.focus()
  })
}

if (typeof document !== 'undefined') startSearch()
