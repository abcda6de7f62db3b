;; Prints the assertions of Clojure's tests, one a line: the name that is tested, a tab, the expression, a tab, and
;; what it has to be, `truthy` or `ERR`. Arguments are the files. Nothing of them is evaluated but `are` expanded.
(require '[clojure.template :as template] '[clojure.walk :as walk] '[clojure.string :as str])

(def reader-options {:read-cond :allow :features #{:clj} :eof ::end})

(defn- forms [file]
  (with-open [in (java.io.PushbackReader. (clojure.java.io/reader file))]
    (binding [*ns* (create-ns 'assertions) *read-eval* false]
      (alias 'str 'clojure.string)
      (doall (take-while #(not= ::end %) (repeatedly #(read reader-options in)))))))

(defn- line [subject expression expected]
  (let [text (binding [*print-namespace-maps* false *print-meta* false] (pr-str (walk/postwalk-replace '{fn* fn} expression)))]
    (when-not (re-find #"[\n\t]" text) (println (str subject "\t" text "\t" expected)))))

(defn- assertion [subject [_ body]]
  (if (and (seq? body) (symbol? (first body)) (#{"thrown?" "thrown-with-msg?"} (name (first body))))
    (line subject (last body) "ERR")
    (line subject body "truthy")))

(defn- walk [subject form]
  (when (seq? form)
    (case (when (symbol? (first form)) (name (first form)))
      "when-var-exists" (doseq [inner (drop 2 form)] (walk (second form) inner))
      "is" (assertion subject form)
      "are" (let [[_ names body & rows] form]
              (doseq [row (partition (max 1 (count names)) rows)]
                (assertion subject (list 'is (template/apply-template names body row)))))
      ("let" "doseq" "for" "dotimes" "when" "if") nil
      (doseq [inner (rest form)] (walk subject inner)))))

(doseq [file *command-line-args*]
  (try (doseq [form (forms file)] (walk nil form))
       (catch Throwable thrown (binding [*out* *err*] (println file (.getMessage thrown))))))
