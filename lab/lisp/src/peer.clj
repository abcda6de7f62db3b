;; Reads "name count" lines, and prints the nanoseconds of the processor that so many runs took.
(def rows (mapv (fn [i] {:id i :n (mod (* i 7919) 1000) :price (mod i 97) :name (str "row " i)}) (range 1000)))
(def works
  {"tiny" (fn [] (eval (read-string "(let [x 3] (* x (+ x 1)))")))
   "rows" (fn [] (->> rows (filter (fn [row] (> (:n row) 500))) (map :price) (reduce +)))
   "sum" (fn [] (reduce + (range 1000000)))})
(defn now [] (.getCurrentThreadCpuTime (java.lang.management.ManagementFactory/getThreadMXBean)))
(doseq [line (line-seq (java.io.BufferedReader. *in*))]
  (let [[name count] (.split ^String line " ")
        work (works name)
        start (now)]
    (dotimes [_ (parse-long count)] (work))
    (println (- (now) start))
    (flush)))
