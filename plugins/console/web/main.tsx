import './app/styles.ts'
import { createRoot } from 'react-dom/client'
import { meQuery } from './api/me.ts'
import { queries } from './api/query-client.ts'
import { App } from './app/App.tsx'
import { pageAt } from './pages/pages.ts'
import { loadText } from './text/text.ts'

// What the first page waits for is asked at once. Whoever needs it is told of a failure: the gate, and the page.
void queries.prefetchQuery(meQuery)
await Promise.all([
  loadText(),
  pageAt(location.pathname)
    ?.load()
    .catch(() => {})
])
createRoot(document.getElementById('root') as HTMLElement).render(<App />)
