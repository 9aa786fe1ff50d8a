import './app/styles.ts'
import { createRoot } from 'react-dom/client'
import { watchServer } from './api/reachable.ts'
import { App } from './app/App.tsx'
import { loadText } from './text/text.ts'

await loadText()
watchServer()
createRoot(document.getElementById('root') as HTMLElement).render(<App />)
